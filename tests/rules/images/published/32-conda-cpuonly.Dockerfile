FROM continuumio/miniconda3:24.5.0-0
ENV NVIDIA_VISIBLE_DEVICES=all NVIDIA_DRIVER_CAPABILITIES=compute,utility
RUN conda install -y pytorch==2.3.1 cpuonly -c pytorch \
 && conda clean -afy
